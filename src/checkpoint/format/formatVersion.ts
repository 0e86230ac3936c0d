/**
 * The version of the stored format: of log lines, and of checkpoints kept whole. What a newer one wrote is refused. A log that
 * an older one wrote is read and goes on: 2 has nested lines besides.
 */
export const formatVersion = 2;
