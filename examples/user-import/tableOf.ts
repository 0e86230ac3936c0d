import type { User } from "./database.ts";

const longest = 24;

/** The table before and after, a line for each user who was in it. */
export function tableOf(before: readonly User[], after: readonly User[]): string {
  const kept = new Set(after.map(({ id }) => id));
  const rows = before.slice(0, longest).map(({ id, name, city }) => {
    const mark = kept.has(id) ? "✓" : "–";
    return `   ${String(id).padStart(4)}   ✓        ${mark}       ${name}${city === "" ? "" : ` (${city})`}`;
  });
  const more = before.length > longest ? [`          … and ${before.length - longest} more`] : [];
  return ["     id   before   after   name", ...rows, ...more].join("\n");
}
