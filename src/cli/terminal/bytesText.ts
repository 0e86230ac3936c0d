const units = ["bytes", "KB", "MB", "GB", "TB"] as const;

/** Formats a number of bytes, such as "1.2 MB". */
export function bytesText(bytes: number): string {
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log(Math.max(1, bytes)) / Math.log(1_000))));
  const size = bytes / 1_000 ** power;
  return `${power === 0 ? size : size.toFixed(1)} ${units[power]}`;
}
