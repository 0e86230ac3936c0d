/** The demo claimed what does not hold. */
export class BrokenClaim extends Error {}

/** Prints what is claimed; a claim that does not hold ends the demo. */
export function claim(holds: boolean, text: string): void {
  console.log(`   ${holds ? "✓" : "✗"} ${text}`);
  if (!holds) throw new BrokenClaim(`This does not hold: ${text}`);
}
