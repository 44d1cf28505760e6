"""Records and batches: the unit that everything else moves. No I/O, no asyncio.

Reading order, room by room:

    format     the three formats as values: attributes (magics, bits, codecs), batch (read), builder (write), control
               (the markers that end transactions), legacy (message sets), convert, validate (what a broker refuses and
               rewrites on produce), origin (who appends)
    codec      compression in Kafka's framings
    kernel     the compiled part, which works on whole batches
    arrow      records as Arrow columns and back

The formats are described byte by byte in docs/formats: record-batch, message-set, compression.
"""
