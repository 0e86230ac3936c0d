import type { BranchResult } from "../../agent/feature/BranchResult.ts";
import type { RecorderStart } from "./RecorderStart.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";

export class ParallelStarts {
  /**
   * The version of the checkpoint at which the branches of the parallel node start. `undefined` before the first
   * parallel node.
   */
  version: number | undefined;
  readonly #lanes = new Map<string, readonly number[]>();

  /**
   * Starts a parallel node at a checkpoint.
   *
   * @param from The restored position of the line. Its branches can have started at an earlier checkpoint.
   */
  begin(version: number | undefined, { head, openFork }: Pick<RecorderStart<unknown>, "head" | "openFork">): void {
    this.version = (version === head?.version ? openFork : undefined) ?? version;
    this.#lanes.clear();
  }

  /** Adds a branch that starts or continues. @param lanes The list of its lanes, to which the line adds later lanes. */
  addBranch(key: string, lanes: readonly number[]): void {
    this.#lanes.set(key, lanes);
  }

  /** Joins the finished branches. Later records may refer to messages that the branches added. */
  join(results: ReadonlyMap<string, BranchResult>, writer: ValueWriter): void {
    for (const [key, { added }] of results) writer.noteJoined(this.#lanes.get(key) ?? [], added);
  }
}
