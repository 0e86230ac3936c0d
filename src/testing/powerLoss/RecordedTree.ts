import type { CrashModel, CrashOptions } from "./CrashModel.ts";
import type { FileTree } from "./FileTree.ts";
import { type Mutation, MutationTrace } from "./MutationTrace.ts";
import type { WriteOutcome } from "./FileContent.ts";
import { powerLossOutcomes } from "./powerLossOutcomes.ts";

/** A tree that a crash may leave. */
export interface CrashedTree {
  readonly model: CrashModel;
  readonly description: string;
  restart(): RecordedTree;
}

/** Files and folders, with all that was done to them since the device was last at rest. */
export class RecordedTree {
  readonly tree: FileTree;
  readonly #atRest: FileTree;
  readonly #trace = new MutationTrace();

  /** @param atRest what is on the device at the beginning. */
  constructor(atRest: FileTree) {
    this.#atRest = atRest;
    this.tree = atRest.copy();
  }

  get length(): number {
    return this.#trace.length;
  }

  do(mutation: Mutation): void {
    this.#trace.add(mutation);
    this.tree.apply(mutation, "kept");
  }

  /** What a crash may leave after the first mutations. */
  *crashes(after: number, options: CrashOptions): Generator<CrashedTree> {
    const mutations = this.#trace.first(after);
    if (options.models?.includes("kill") ?? true)
      yield { model: "kill", description: `kill after ${after} changes`, restart: () => this.#upTo(mutations) };
    const undurable = this.#trace.undurable(after);
    const open = undurable.map((at) => mutations[at] as Mutation);
    const seed = (options.seed ?? 1) * 1_000_003 + after;
    for (const { model, fates } of powerLossOutcomes(open, { ...options, seed })) {
      yield {
        model,
        get description() {
          return `${model} after ${after} changes, without ${describeLoss(open, fates)}`;
        },
        restart: () => {
          const tree = this.#atRest.copy();
          const fateOf = new Map(undurable.map((at, index) => [at, fates[index] ?? "kept"]));
          for (const [at, mutation] of mutations.entries()) tree.apply(mutation, fateOf.get(at) ?? "kept");
          return new RecordedTree(tree);
        },
      };
    }
  }

  #upTo(mutations: readonly Mutation[]): RecordedTree {
    const traced = new RecordedTree(this.#atRest);
    for (const mutation of mutations) traced.do(mutation);
    return traced;
  }
}

/** What a crash undid, for people: of a write also which sectors it kept, and what the others hold. */
export function describeLoss(mutations: readonly Mutation[], fates: readonly WriteOutcome[]): string {
  const undone = mutations.flatMap(({ kind, path }, index) => {
    const fate = fates[index] ?? "kept";
    if (fate === "kept") return [];
    return `${kind} ${path}${fate === "lost" ? "" : ` (${fate.kept.map(Number).join("")} ${fate.fill})`}`;
  });
  return undone.join(", ") || "nothing";
}
