/** A claim of the demo is false. */
export class BrokenClaim extends Error {}

/** Prints a claim; a false claim ends the demo. */
export function claim(holds: boolean, text: string): void {
  console.log(`   ${holds ? "✓" : "✗"} ${text}`);
  if (!holds) throw new BrokenClaim(`This does not hold: ${text}`);
}
