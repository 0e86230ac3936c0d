import type { User } from "./database.ts";
import type { Person } from "./people.ts";

/** A claim of the demo is false. */
export class BrokenClaim extends Error {}

/** Prints a claim; a false claim ends the demo. */
export function claim(holds: boolean, text: string): void {
  console.log(`   ${holds ? "✓" : "✗"} ${text}`);
  if (!holds) throw new BrokenClaim(`This does not hold: ${text}`);
}

/** Whether the table has exactly these people, each as often as the list does. */
export function sameRows(users: readonly User[], people: readonly Person[]): boolean {
  const keys = (rows: readonly Person[]) =>
    rows.map(({ name, email, city }) => JSON.stringify([name, email, city])).toSorted();
  return JSON.stringify(keys(users)) === JSON.stringify(keys(people));
}
