/** The version of the stored format: of log lines, and of checkpoints kept whole. What a newer one wrote is refused. */
export const formatVersion = 1;
