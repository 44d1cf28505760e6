// Runs Apache Kafka's own recovery and cleaner on a partition's directory, for comparison with ours.
//
//   java -cp 'libs/*' KafkaCleaner.java DIR[,DIR...] NOW_MS CLEAN MAP_MEMORY IO_BUFFER FIRST_DIRTY [key=value of the topic]...
//
// CLEAN: true when the log was closed properly. FIRST_DIRTY: -1 only opens the log. Prints a JSON object per directory: seconds
// to open (and recover), seconds to clean, the offset up to which it is clean, and what the statistics say.

import java.io.File;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class KafkaCleaner {
    public static void main(String[] args) throws Exception {
        long now = Long.parseLong(args[1]);
        boolean clean = Boolean.parseBoolean(args[2]);
        int memory = Integer.parseInt(args[3]);
        int buffer = Integer.parseInt(args[4]);
        long firstDirty = Long.parseLong(args[5]);
        Map<String, String> settings = new HashMap<>();
        for (int i = 6; i < args.length; i++) {
            String[] parts = args[i].split("=", 2);
            settings.put(parts[0], parts[1]);
        }
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        for (String dir : args[0].split(","))
            run(new File(dir), scheduler, settings, now, clean, memory, buffer, firstDirty);
        scheduler.shutdown();
        System.exit(0);
    }

    static void run(File dir, KafkaScheduler scheduler, Map<String, String> settings, long now, boolean clean,
                    int memory, int buffer, long firstDirty) throws Exception {
        long started = System.nanoTime();
        UnifiedLog log = UnifiedLog.create(dir, new LogConfig(settings), 0L, 0L, scheduler, new BrokerTopicStats(),
            Time.SYSTEM, 300000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600000,
            new LogDirFailureChannel(10), clean, Optional.empty());
        double opening = (System.nanoTime() - started) / 1e9;
        log.updateHighWatermark(log.logEndOffset());
        double cleaning = 0;
        long end = -1;
        long read = 0;
        if (firstDirty >= 0) {
            Throttler throttler = new Throttler(Double.MAX_VALUE, Long.MAX_VALUE, "throttler", "entries", Time.SYSTEM);
            Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(memory), buffer, 100 << 20, 0.9, throttler, Time.SYSTEM, tp -> { });
            long bound = Math.min(log.lastStableOffset(), log.activeSegment().baseOffset());
            started = System.nanoTime();
            Map.Entry<Long, CleanerStats> result = cleaner.doClean(new LogToClean(log, firstDirty, bound, false), now);
            cleaning = (System.nanoTime() - started) / 1e9;
            end = result.getKey();
            read = result.getValue().bytesRead();
        }
        System.out.printf("{\"opening\": %f, \"cleaning\": %f, \"end\": %d, \"bytes_read\": %d, \"leo\": %d}%n",
            opening, cleaning, end, read, log.logEndOffset());
        log.close();
    }
}
