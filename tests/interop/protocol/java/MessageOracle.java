import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.kafka.common.errors.UnknownServerException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.RequestAndSize;

/**
 * Kafka's generated message classes behind stdin and stdout.
 *
 * A request is: op (1 byte), name (short + UTF-8), version (short), payload (int + bytes).
 *   'V' which versions this Kafka has of the message: two shorts, or nothing when it has none
 *   'J' JSON in, bytes out
 *   'T' bytes of another version (its number is the first short of the payload) in, bytes of this version out
 *   'E' bytes of a request in, bytes of Kafka's answer to one whose handler failed out
 *   'B' bytes in; out: int + re-encoded bytes, then JSON
 * An answer is: status (0 fine, 1 the payload is an error text), int + bytes.
 */
public class MessageOracle {
    private static final String[] PLACES = {
        "org.apache.kafka.common.message.%sData",
        "org.apache.kafka.common.message.%s",
        "org.apache.kafka.common.metadata.%s",
        "org.apache.kafka.coordinator.group.generated.%s",
        "org.apache.kafka.coordinator.transaction.generated.%s",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.%s",
    };
    private static final ObjectMapper MAPPER = new ObjectMapper();
    private static final Map<String, Kind> KINDS = new HashMap<>();

    private static final class Kind {
        final Class<?> type;
        final Method read;
        final Method write;

        Kind(Class<?> type) throws Exception {
            this.type = type;
            Class<?> converter = Class.forName(type.getName() + "JsonConverter");
            this.read = converter.getMethod("read", JsonNode.class, short.class);
            this.write = converter.getMethod("write", type, short.class, boolean.class);
        }
    }

    private static Kind kind(String name) throws Exception {
        if (!KINDS.containsKey(name)) {
            Kind found = null;
            for (String place : PLACES) {
                try {
                    found = new Kind(Class.forName(String.format(place, name)));
                    break;
                } catch (ClassNotFoundException absent) {
                    continue;
                }
            }
            KINDS.put(name, found);
        }
        return KINDS.get(name);
    }

    private static byte[] encode(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, version));
        message.write(new ByteBufferAccessor(buffer), cache, version);
        if (buffer.hasRemaining()) throw new IllegalStateException("size and write disagree");
        return buffer.array();
    }

    private static byte[] answer(char op, String name, short version, byte[] payload) throws Exception {
        Kind kind = kind(name);
        if (op == 'V') {
            if (kind == null) return new byte[0];
            Message message = (Message) kind.type.getConstructor().newInstance();
            short low = message.lowestSupportedVersion(), high = message.highestSupportedVersion();
            return low > high ? new byte[0] : ByteBuffer.allocate(4).putShort(low).putShort(high).array();
        }
        if (op == 'J') {
            Object message = kind.read.invoke(null, MAPPER.readTree(payload), version);
            return encode((Message) message, version);
        }
        if (op == 'E') return failed(name, version, payload);
        Message message = (Message) kind.type.getConstructor().newInstance();
        ByteBuffer in = ByteBuffer.wrap(payload);
        if (op == 'T') {
            message.read(new ByteBufferAccessor(in), in.getShort());
            return encode(message, version);
        }
        message.read(new ByteBufferAccessor(in), version);
        if (in.hasRemaining()) throw new IllegalStateException(in.remaining() + " bytes are left over");
        byte[] encoded = encode(message, version);
        byte[] json = MAPPER.writeValueAsBytes(kind.write.invoke(null, message, version, true));
        return ByteBuffer.allocate(4 + encoded.length + json.length).putInt(encoded.length).put(encoded).put(json).array();
    }

    private static byte[] failed(String name, short version, byte[] payload) throws Exception {
        ApiKeys key = null;
        for (ApiKeys one : ApiKeys.values()) if ((one.name + "Request").equals(name)) key = one;
        for (Method parse : AbstractRequest.class.getMethods()) {
            if (!parse.getName().equals("parseRequest")) continue;
            ByteBuffer in = ByteBuffer.wrap(payload);
            Object source = parse.getParameterTypes()[2] == ByteBuffer.class ? in : new ByteBufferAccessor(in);
            AbstractRequest request = ((RequestAndSize) parse.invoke(null, key, version, source)).request;
            return encode(request.getErrorResponse(0, new UnknownServerException()).data(), version);
        }
        throw new NoSuchMethodException("parseRequest");
    }

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        while (true) {
            int op = in.read();
            if (op < 0) return;
            byte[] name = new byte[in.readShort()];
            in.readFully(name);
            short version = in.readShort();
            byte[] payload = new byte[in.readInt()];
            in.readFully(payload);
            byte[] result;
            try {
                result = answer((char) op, new String(name, StandardCharsets.UTF_8), version, payload);
                out.writeByte(0);
            } catch (Exception error) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                result = cause.toString().getBytes(StandardCharsets.UTF_8);
                out.writeByte(1);
            }
            out.writeInt(result.length);
            out.write(result);
            out.flush();
        }
    }
}
