/**
 * The version of the stored format, for log lines and whole checkpoints. Newer versions are rejected. Older logs are
 * read and continued. Version 2 adds nested lines.
 */
export const formatVersion = 2;
