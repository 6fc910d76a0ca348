import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;

/**
 * Splits the lines of a socket and adds the words that match to a stream of Redis, in a Flink of this process: FlinkWords PORT REDIS
 * default|tuned. Tuned, all of it is one chain and nothing waits for a buffer to fill.
 */
public final class FlinkWords {
    private static final Pattern WORD = Pattern.compile("^[0-9]+[.][0-9]{6}$");

    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("execution.checkpointing.interval", "1s");
        boolean tuned = arguments[2].equals("tuned");
        if (tuned) {
            settings.setString("execution.buffer-timeout.interval", "0ms");
            settings.setString("pipeline.object-reuse", "true");
        }
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.createLocalEnvironment(tuned ? 1 : 2, settings);
        String redis = arguments[1];
        flink.socketTextStream("127.0.0.1", Integer.parseInt(arguments[0]), "\n", 0)
                .flatMap((String line, Collector<String> out) -> {
                    for (String word : line.split(" ")) {
                        if (WORD.matcher(word).matches()) {
                            out.collect(word);
                        }
                    }
                })
                .returns(Types.STRING)
                .sinkTo(new Found(redis));
        flink.execute();
        System.exit(0);
    }

    /** Sends each word at once; a checkpoint waits until Redis has said that it has all of them. */
    private static final class Found implements Sink<String> {
        private final String redis;

        Found(String redis) {
            this.redis = redis;
        }

        @Override
        public SinkWriter<String> createWriter(WriterInitContext context) throws IOException {
            SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX);
            channel.connect(UnixDomainSocketAddress.of(redis));
            return new Writer(channel);
        }
    }

    private static final class Writer implements SinkWriter<String> {
        private final SocketChannel channel;
        private final ByteBuffer answers = ByteBuffer.allocate(1 << 16);
        private long unanswered;
        private boolean begins = true; // a line of the answers

        Writer(SocketChannel channel) {
            this.channel = channel;
        }

        @Override
        public void write(String word, Context context) throws IOException {
            String command = "*5\r\n$4\r\nXADD\r\n$5\r\nfound\r\n$1\r\n*\r\n$5\r\nvalue\r\n$" + word.length() + "\r\n" + word + "\r\n";
            ByteBuffer bytes = ByteBuffer.wrap(command.getBytes(StandardCharsets.US_ASCII));
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
            unanswered++;
        }

        @Override
        public void flush(boolean last) throws IOException {
            while (unanswered > 0) {
                answers.clear();
                if (channel.read(answers) < 0) {
                    throw new IOException("Redis has hung up");
                }
                for (int at = 0; at < answers.position(); at++) {
                    if (begins && answers.get(at) == '-') {
                        throw new IOException("Redis has refused a word");
                    }
                    if (begins && answers.get(at) == '$') {
                        unanswered--;
                    }
                    begins = answers.get(at) == '\n';
                }
            }
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
