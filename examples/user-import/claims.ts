import type { User } from "./database.ts";
import type { Person } from "./people.ts";

/** The demo claimed what does not hold. */
export class BrokenClaim extends Error {}

/** Prints what is claimed; a claim that does not hold ends the demo. */
export function claim(holds: boolean, text: string): void {
  console.log(`   ${holds ? "✓" : "✗"} ${text}`);
  if (!holds) throw new BrokenClaim(`This does not hold: ${text}`);
}

/** Whether exactly these people are in the table, each as often as in the list. */
export function sameRows(users: readonly User[], people: readonly Person[]): boolean {
  const keys = (rows: readonly Person[]) =>
    rows.map(({ name, email, city }) => JSON.stringify([name, email, city])).toSorted();
  return JSON.stringify(keys(users)) === JSON.stringify(keys(people));
}
