/** Formats a count with a singular noun, such as `1 run` or `2 runs`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
