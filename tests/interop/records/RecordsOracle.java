// Apache Kafka's own record classes, read and written from a test.
//   read FILE     prints every batch and record of the file; a batch that Kafka refuses prints "bad" and ends it
//   write DIR     writes DIR/magic-codec-type.bin for every combination
//   judge FILE    the file holds int32 sizes and batches; prints "ok" or "bad" for each
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.MemoryRecordsBuilder;
import org.apache.kafka.common.record.MutableRecordBatch;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.Utils;

public class RecordsOracle {
    static String hex(ByteBuffer data) {
        return data == null ? "-" : "x" + HexFormat.of().formatHex(Utils.toArray(data));
    }

    static String line(Record record) {
        StringBuilder out = new StringBuilder();
        out.append(record.offset()).append(' ').append(record.timestamp()).append(' ');
        out.append(hex(record.key())).append(' ').append(hex(record.value()));
        for (Header header : record.headers()) {
            byte[] value = header.value();
            out.append(' ').append(header.key()).append('=').append(hex(value == null ? null : ByteBuffer.wrap(value)));
        }
        return out.toString();
    }

    static void read(Path file) throws Exception {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(Files.readAllBytes(file)));
        for (MutableRecordBatch batch : records.batches()) {
            batch.ensureValid();
            System.out.println("batch " + batch.magic() + " " + batch.baseOffset() + " " + batch.lastOffset() + " "
                + batch.compressionType().id + " " + batch.timestampType().id + " " + batch.maxTimestamp() + " "
                + batch.producerId() + " " + batch.producerEpoch() + " " + batch.baseSequence() + " "
                + batch.partitionLeaderEpoch() + " " + batch.isTransactional() + " " + batch.isControlBatch() + " "
                + batch.deleteHorizonMs().orElse(-1L));
            for (Record record : batch) System.out.println(line(record));
        }
    }

    static void write(Path dir) throws Exception {
        for (byte magic = 0; magic <= 2; magic++)
            for (CompressionType codec : CompressionType.values()) {
                if (codec == CompressionType.ZSTD && magic < 2) continue;
                for (TimestampType type : new TimestampType[] {TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME}) {
                    if (magic == 0 && type == TimestampType.LOG_APPEND_TIME) continue;
                    long appendTime = type == TimestampType.LOG_APPEND_TIME ? 7_000_000L : -1L;
                    MemoryRecordsBuilder builder = MemoryRecords.builder(ByteBuffer.allocate(1 << 16), magic,
                        Compression.of(codec).build(), type, 40L, appendTime);
                    for (int i = 0; i < 60; i++) {
                        byte[] key = i % 7 == 0 ? null : ("key-" + i).getBytes();
                        byte[] value = i % 11 == 0 ? null : "v".repeat(i * 5).getBytes();
                        Header[] headers = magic == 2 && i % 3 == 0
                            ? new Header[] {new RecordHeader("h" + i, ("x" + i).getBytes()), new RecordHeader("n", null)}
                            : new Header[0];
                        long timestamp = magic == 0 ? -1L : 1000L + (i * 37) % 101;
                        builder.appendWithOffset(40L + i, timestamp, key, value, headers);
                    }
                    Files.write(dir.resolve(magic + "-" + codec.id + "-" + type.id + ".bin"),
                        Utils.toArray(builder.build().buffer()));
                }
            }
    }

    static void judge(Path file) throws Exception {
        try (DataInputStream in = new DataInputStream(new FileInputStream(file.toFile()))) {
            while (in.available() > 0) {
                byte[] data = in.readNBytes(in.readInt());
                try {
                    int count = 0;
                    for (MutableRecordBatch batch : MemoryRecords.readableRecords(ByteBuffer.wrap(data)).batches()) {
                        batch.ensureValid();
                        for (Record record : batch) {
                            line(record);
                            count++;
                        }
                    }
                    System.out.println("ok " + count);
                } catch (Exception | OutOfMemoryError error) {  // a count that lies makes Kafka ask for all its memory
                    System.out.println("bad " + error.getClass().getSimpleName());
                }
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path path = Path.of(arguments[1]);
        switch (arguments[0]) {
            case "read" -> read(path);
            case "write" -> write(path);
            case "judge" -> judge(path);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }
}
