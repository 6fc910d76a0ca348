import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/** Runs the statements of a file, which a line with ";" alone parts, in a Flink of this process, and prints the milliseconds that the last took. */
public final class FlinkSql {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = new Configuration();
        settings.setString("execution.target", "local");
        settings.setString("parallelism.default", "2");
        settings.setString("taskmanager.numberOfTaskSlots", "2");
        settings.setString("execution.checkpointing.interval", "1s");
        settings.setString("pipeline.object-reuse", "true");
        settings.setString("table.exec.mini-batch.enabled", "true");
        settings.setString("table.exec.mini-batch.allow-latency", "1s");
        settings.setString("table.exec.mini-batch.size", "50000");
        settings.setString("table.local-time-zone", "UTC");
        TableEnvironment tables =
                TableEnvironment.create(EnvironmentSettings.newInstance().inStreamingMode().withConfiguration(settings).build());
        TableResult last = null;
        for (String statement : Files.readString(Path.of(arguments[0])).split("\n;\n")) {
            last = tables.executeSql(statement);
        }
        System.out.println(last.getJobClient().get().getJobExecutionResult().get().getNetRuntime(TimeUnit.MILLISECONDS));
        System.exit(0);
    }
}
