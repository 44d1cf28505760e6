import java.time.Duration;
import java.util.*;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.Stores;

/** Kafka Streams' word count, exactly once, with state in memory (and in its changelog on the broker).
 *  It runs until its input ends. usage: WordCount HOST:PORT IN OUT APPLICATION_ID [name=value]... */
public class WordCount {
    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("application.id", args[3]);
        config.put("processing.guarantee", "exactly_once_v2");
        config.put("commit.interval.ms", "100");
        config.put("statestore.cache.max.bytes", "0");
        config.put("replication.factor", "1");
        config.put("auto.offset.reset", "earliest");
        config.put("default.key.serde", Serdes.StringSerde.class.getName());
        config.put("default.value.serde", Serdes.StringSerde.class.getName());
        config.put("state.dir", System.getProperty("java.io.tmpdir") + "/" + args[3]);
        for (int n = 4; n < args.length; n++) config.put(args[n].split("=", 2)[0], args[n].split("=", 2)[1]);
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(args[1])
            .flatMapValues(value -> Arrays.asList(value.split(" ")))
            .groupBy((key, word) -> word)
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream().mapValues(String::valueOf).to(args[2]);
        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setUncaughtExceptionHandler(error -> {
            error.printStackTrace();
            return org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        while (System.in.read() >= 0) {}
        streams.close(Duration.ofSeconds(60));
        System.out.println("STOPPED " + streams.state());
    }
}
