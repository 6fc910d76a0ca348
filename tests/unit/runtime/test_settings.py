"""Settings: where a value comes from, what is said about a bad one, and that no password is shown."""

from pathlib import Path

import pytest

from ghcm.errors import GhcmError
from ghcm.runtime.settings import Settings, load_settings


def load(directory: Path, toml: str = "", environment: dict[str, str] | None = None, **arguments: object) -> Settings:
    if toml:
        (directory / "ghcm.toml").write_text(toml)
    return load_settings(arguments, directory=directory, environment=environment or {})


def test_nothing_given_means_everything_embedded(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings.embedded
    assert (settings.state, settings.commit_interval, settings.http.host) == (Path(".ghcm"), 1.0, "127.0.0.1")


def test_arguments_win_over_the_environment_and_that_over_the_file(tmp_path: Path) -> None:
    toml = 'state = "from-file"\ncommit_interval = "250ms"\n[http]\nport = 1\nhost = "0.0.0.0"\n'
    environment = {"GHCM_HTTP_PORT": "2", "GHCM_STATE": "from-environment", "GHCM_SHARED": "not ours", "PATH": "/bin"}
    settings = load(tmp_path, toml, environment, state=Path("from-argument"), http={"port": None})
    assert settings.state == Path("from-argument")
    assert (settings.http.port, settings.http.host, settings.commit_interval) == (2, "0.0.0.0", 0.25)


def test_another_file_can_be_named(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("patience = 3\n")
    assert load(tmp_path, "patience = 4", {"GHCM_CONFIG": str(tmp_path / "other.toml")}).patience == 3.0
    with pytest.raises(GhcmError, match="there is no settings file"):
        load(tmp_path, environment={"GHCM_CONFIG": str(tmp_path / "nowhere.toml")})


def test_a_unit_has_a_retry_policy_of_its_own_for_what_it_says(tmp_path: Path) -> None:
    toml = '[retry]\nattempts = 5\ninitial_interval = "2s"\n[units."lake/rebuild"]\nattempts = 1\n'
    settings = load(tmp_path, toml, {"GHCM_RETRY_MAXIMUM_INTERVAL": "10s"})
    found = settings.retry_of("lake", "rebuild"), settings.retry_of("lake", "publish")
    assert [(each.attempts, each.initial_interval, each.maximum_interval) for each in found] == [(1, 2, 10), (5, 2, 10)]
    with pytest.raises(GhcmError, match="units"):
        load(tmp_path, "[units.lake]\nattempts = 1\n")


def test_all_bad_values_are_named_with_their_places(tmp_path: Path) -> None:
    toml = 'commit_interval = "2 moons"\n[http]\nprt = 1\n[limits]\ncalls = 0\n'
    with pytest.raises(GhcmError) as refused:
        load(tmp_path, toml, {"GHCM_HTTP_PORT": "abc"}, spark={"memory": 7})
    said = str(refused.value)
    assert "4 settings" not in said
    assert "5 settings are wrong" in said
    assert f'commit_interval in "{tmp_path / "ghcm.toml"}": expected a duration such as "10s"' in said
    assert "found '2 moons'" in said
    assert f'http.prt in "{tmp_path / "ghcm.toml"}": there is no such setting' in said
    assert 'did you mean "port"?' in said
    assert "GHCM_HTTP_PORT in the environment: input should be a valid integer" in said
    assert "limits.calls in" in said
    assert "spark.memory in the arguments" in said


def test_a_file_that_is_no_toml_is_named_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(GhcmError) as refused:
        load(tmp_path, "state = \n")
    assert "ghcm.toml" in refused.value.message
    assert "line 1" in refused.value.detail


@pytest.mark.parametrize("url", ["redis://me:secret@db:6379/0", "rediss://:secret@db:6379/0", "unix://:secret@/tmp/s"])
def test_a_password_is_never_shown(url: str, tmp_path: Path) -> None:
    settings = load(tmp_path, environment={"GHCM_REDIS": url})
    assert settings.redis == url
    assert not settings.embedded
    assert "secret" not in f"{settings!r} {settings} {settings.shown()}"


def test_a_bad_address_is_refused_without_showing_it(tmp_path: Path) -> None:
    with pytest.raises(GhcmError) as refused:
        load(tmp_path, environment={"GHCM_REDIS": "http://me:secret@db"})
    assert "GHCM_REDIS in the environment" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_databases_are_named_and_their_passwords_are_not_shown(tmp_path: Path) -> None:
    toml = '[sql]\nwarehouse = "postgresql://me:secret@host/shop?password=secret"\nlocal = "sqlite:///x.db"\n'
    settings = load(tmp_path, toml, {"GHCM_SQL_LOCAL": "sqlite:///y.db"})
    assert settings.sql["local"] == "sqlite:///y.db"
    assert settings.shown()["sql"] == {"warehouse": "postgresql://host/shop", "local": "sqlite:///y.db"}
    assert "secret" not in f"{settings!r} {settings} {settings.shown()}"
    with pytest.raises(GhcmError) as wrong:
        load(tmp_path, '[sql]\nwarehouse = { url = "postgresql://me:secret@host" }\n')
    assert "sql.warehouse" in str(wrong.value) and "secret" not in str(wrong.value)


def test_kafka_is_a_table_and_one_variable(tmp_path: Path) -> None:
    (tmp_path / "ghcm.toml").write_text('[kafka]\nbootstrap = "a:1"\nusername = "me"\n')
    environment = {"GHCM_KAFKA": "b:2,c:3", "GHCM_KAFKA_PASSWORD": "secret", "GHCM_KAFKA_CA_FILE": "ca.pem"}
    settings = load_settings(directory=tmp_path, environment=environment)
    options = settings.kafka.options(1.0)
    assert (options["bootstrap_servers"], options["sasl_plain_username"]) == ("b:2,c:3", "me")
    assert (options["sasl_plain_password"], options["ssl_cafile"]) == ("secret", "ca.pem")
    assert "secret" not in f"{settings} {settings!r} {settings.shown()}"
    with pytest.raises(GhcmError) as refused:
        load_settings(directory=tmp_path, environment={"GHCM_KAFKA_SECURITY_PROTOCOL": "TLS"})
    assert "GHCM_KAFKA_SECURITY_PROTOCOL" in refused.value.detail
    (tmp_path / "ghcm.toml").write_text("[kafka]\npassword = 12345\n")
    with pytest.raises(GhcmError) as hidden:
        load_settings(directory=tmp_path, environment={})
    assert "kafka.password" in hidden.value.detail
    assert "12345" not in str(hidden.value)
    for lacks in ('security_protocol = "SASL_SSL"', 'sasl_mechanism = "PLAIN"\nsecurity_protocol = "SASL_SSL"'):
        (tmp_path / "ghcm.toml").write_text(f'[kafka]\npassword = "12345"\n{lacks}\n')
        with pytest.raises(GhcmError, match=r"kafka in .*: sasl_mechanism ") as half:
            load_settings(directory=tmp_path, environment={})
        assert "12345" not in str(half.value)


def test_a_profile_stands_for_services_that_run(tmp_path: Path) -> None:
    settings = load_settings({"profile": "services", "state": tmp_path}, environment={})
    with pytest.raises(GhcmError, match="not running: kafka and redis") as told:
        settings.served()
    assert "ghcm services up" in told.value.hint
    assert settings.standing.startswith("profile: services (Kafka at ")
    own = load_settings({"kafka": {"bootstrap": "b:2"}}, environment={})
    assert own.standing == "profile: embedded (places are served by a private Redis, calls by Kafka at b:2)"
    given = {"profile": "services", "redis": "redis://a:1/0", "kafka": {"bootstrap": "b:2"}}
    named = load_settings(given, environment={})
    assert named.served() is named


@pytest.mark.parametrize("url", ["redis://me:s3cret@host:1/0", "redis://:s3cret@host", "redis://host?password=s3cret"])
def test_a_password_is_taken_from_a_file_or_the_environment_and_from_no_argument(url: str, tmp_path: Path) -> None:
    (tmp_path / "redis.url").write_text(f"{url}\n")
    for redis in (url, f"file:{tmp_path}/redis.url"):
        assert load_settings(directory=tmp_path, environment={"GHCM_REDIS": redis}).redis == url
    assert load_settings({"redis": f"file:{tmp_path}/redis.url"}, directory=tmp_path, environment={}).redis == url
    with pytest.raises(GhcmError, match="read by everybody on this machine") as error:
        load_settings({"redis": url}, directory=tmp_path, environment={})
    assert "s3cret" not in str(error.value) and "file:PATH" in error.value.hint
    assert load_settings({"redis": "redis://me@host:1/0"}, directory=tmp_path, environment={}).redis_url is not None


def test_a_file_without_a_url_is_told_without_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "redis.url").write_text("http://me:s3cret@host")
    for file, said in (("redis.url", 'expected "embedded"'), ("missing.url", "cannot be read: .*No such file")):
        with pytest.raises(GhcmError, match=said) as error:
            load_settings(directory=tmp_path, environment={"GHCM_REDIS": f"file:{tmp_path}/{file}"})
        assert "s3cret" not in str(error.value)
