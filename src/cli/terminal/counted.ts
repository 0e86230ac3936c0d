/** A number of things as a person says it: `1 run`, `2 runs`. @param noun in the singular. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
