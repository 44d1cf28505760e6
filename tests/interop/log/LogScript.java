// Runs scripts of log operations on Apache Kafka's own UnifiedLog, so that the directory which it leaves can be
// compared with ours. Usage: LogScript <folder>; each <folder>/<name>/script has one operation per line, the batches
// lie in <folder>/<name>/batches, the log is made in <folder>/<name>/topic-0, what the log says of itself after each
// operation goes to <folder>/<name>/answers.

import java.io.File;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

public class LogScript {
    final Path folder;
    final byte[] batches;
    KafkaScheduler scheduler;
    final List<String> answers = new ArrayList<>();
    Map<String, String> config = new HashMap<>();
    UnifiedLog log;

    LogScript(Path folder) throws Exception {
        this.folder = folder;
        this.batches = Files.readAllBytes(folder.resolve("batches"));
    }

    void open(long logStart, long recoveryPoint, boolean clean) throws Exception {
        File dir = folder.resolve("topic-0").toFile();
        dir.mkdirs();
        scheduler = new KafkaScheduler(1);
        scheduler.startup();
        log = UnifiedLog.create(dir, new LogConfig(config), logStart, recoveryPoint, scheduler, new BrokerTopicStats(),
            Time.SYSTEM, 300000, new ProducerStateManagerConfig(Integer.MAX_VALUE, false), 600000,
            new LogDirFailureChannel(4), clean, Optional.empty());
        log.updateHighWatermark(log.logEndOffset());
        // Kafka forgets a segment's largest timestamp if it is truncated before anybody asked for it. We do not.
        for (LogSegment segment : log.logSegments()) segment.maxTimestampSoFar();
    }

    MemoryRecords records(String[] words, int at) {
        int position = Integer.parseInt(words[at]);
        int size = Integer.parseInt(words[at + 1]);
        return MemoryRecords.readableRecords(ByteBuffer.wrap(Arrays.copyOfRange(batches, position, position + size)));
    }

    String run(String[] words) throws Exception {
        switch (words[0]) {
            case "config":
                for (int i = 1; i < words.length; i += 2) config.put(words[i], words[i + 1]);
                return "ok";
            case "open":
                open(Long.parseLong(words[1]), Long.parseLong(words[2]), words[3].equals("clean"));
                return "ok";
            case "leader": {
                AppendOrigin origin = words[2].equals("client") ? AppendOrigin.CLIENT : AppendOrigin.COORDINATOR;
                LogAppendInfo info = log.appendAsLeader(records(words, 3), Integer.parseInt(words[1]), origin,
                    RequestLocal.noCaching(), VerificationGuard.SENTINEL, (short) 0);
                log.updateHighWatermark(log.logEndOffset());
                return info.firstOffset() + " " + info.lastOffset();
            }
            case "follower": {
                LogAppendInfo info = log.appendAsFollower(records(words, 1), Integer.MAX_VALUE);
                log.updateHighWatermark(log.logEndOffset());
                return String.valueOf(info.lastOffset());
            }
            case "roll":
                log.roll();
                return "ok";
            case "truncate":
                return String.valueOf(log.truncateTo(Long.parseLong(words[1])));
            case "restart":
                log.truncateFullyAndStartAt(Long.parseLong(words[1]), Optional.empty());
                return "ok";
            case "logstart":
                return String.valueOf(log.maybeIncrementLogStartOffset(
                    Long.parseLong(words[1]), LogStartOffsetIncrementReason.ClientRecordDeletion));
            case "retain":
                return String.valueOf(log.deleteOldSegments());
            case "close":
                log.flush(true);
                log.close();
                scheduler.shutdown();
                return "ok";
            case "crash":
                log.closeHandlers();
                scheduler.shutdown();
                return "ok";
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** A transaction that began below the log start: Kafka rounds to the start of a batch, perhaps below it. */
    long lastStableOffset() {
        var first = log.producerStateManager().firstUnstableOffset();
        boolean below = first.isPresent() && first.get().messageOffset < log.logStartOffset();
        return below ? log.logStartOffset() : log.lastStableOffset();
    }

    void runAll() throws Exception {
        for (String line : Files.readAllLines(folder.resolve("script"))) {
            String answer;
            try {
                answer = run(line.split(" "));
            } catch (RuntimeException error) {
                answer = error.getClass().getSimpleName();
            }
            boolean isOpen = log != null && !line.startsWith("close") && !line.startsWith("crash");
            if (isOpen)
                answer += " | " + log.logStartOffset() + " " + log.logEndOffset() + " " + log.highWatermark() + " "
                    + lastStableOffset();
            answers.add(answer);
        }
        Files.write(folder.resolve("answers"), answers);
    }

    public static void main(String[] args) throws Exception {
        try (var folders = Files.list(Path.of(args[0]))) {
            for (Path folder : folders.sorted().toList())
                if (Files.exists(folder.resolve("script"))) new LogScript(folder).runAll();
        }
        System.exit(0);
    }
}
