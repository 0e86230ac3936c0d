import type { User } from "./database.ts";
import type { Line } from "./Line.ts";

const longest = 24;

/** Prints a line of the agent program. */
export function printLine(line: Line): void {
  if ("waiting" in line) console.log("   … the last call is in the database, and the agent does not know it yet");
  else if ("answer" in line) console.log(`   the model says: ${line.answer}`);
  else if (line.added) console.log(`   + ${line.signedUp}`);
  else
    console.log(
      `   = ${line.signedUp} (the outcome of this call was unknown: repeated with the same id, it changed nothing)`,
    );
}

/** Shows the table before and after, with a line for each user in it. */
export function printTable(before: readonly User[], after: readonly User[]): void {
  const kept = new Set(after.map(({ id }) => id));
  console.log("     id   before   after   name");
  for (const { id, name, city } of before.slice(0, longest)) {
    const place = city === "" ? "" : ` (${city})`;
    console.log(`   ${String(id).padStart(4)}     ✓        ${kept.has(id) ? "✓" : "–"}     ${name}${place}`);
  }
  if (before.length > longest) console.log(`          … and ${before.length - longest} more`);
}
