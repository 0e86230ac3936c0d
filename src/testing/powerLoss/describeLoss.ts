import type { WriteOutcome } from "./WriteOutcome.ts";
import type { Mutation } from "./Mutation.ts";

/** What a crash undid, for people: of a write also which sectors it kept, and what the others hold. */
export function describeLoss(mutations: readonly Mutation[], fates: readonly WriteOutcome[]): string {
  const undone = mutations.flatMap(({ kind, path }, index) => {
    const fate = fates[index] ?? "kept";
    if (fate === "kept") return [];
    return `${kind} ${path}${fate === "lost" ? "" : ` (${fate.kept.map(Number).join("")} ${fate.fill})`}`;
  });
  return undone.join(", ") || "nothing";
}
