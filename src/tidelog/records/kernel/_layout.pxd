"""`_layout.h` for compiled modules: where the fields of batches and messages lie. To C they are constants."""


cdef extern from "tidelog/records/kernel/_layout.h":
    enum:
        BASE_OFFSET_OFFSET
        LENGTH_OFFSET
        LOG_OVERHEAD
        MAGIC_OFFSET

        PARTITION_LEADER_EPOCH_OFFSET
        CRC_OFFSET
        ATTRIBUTES_OFFSET
        LAST_OFFSET_DELTA_OFFSET
        BASE_TIMESTAMP_OFFSET
        MAX_TIMESTAMP_OFFSET
        PRODUCER_ID_OFFSET
        PRODUCER_EPOCH_OFFSET
        BASE_SEQUENCE_OFFSET
        RECORDS_COUNT_OFFSET
        RECORD_BATCH_OVERHEAD

        MESSAGE_CRC_OFFSET
        MESSAGE_ATTRIBUTES_OFFSET
        MESSAGE_TIMESTAMP_OFFSET
        MESSAGE_KEY_SIZE_OFFSET_V0
        MESSAGE_KEY_SIZE_OFFSET_V1
        MESSAGE_OVERHEAD_V0
        MESSAGE_OVERHEAD_V1

        CODEC_MASK
        TIMESTAMP_TYPE_BIT
        TRANSACTIONAL_BIT
        CONTROL_BIT
        DELETE_HORIZON_BIT

    int message_key_size_offset(int magic) nogil
    int message_overhead(int magic) nogil
