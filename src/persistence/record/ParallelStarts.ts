import type { BranchResult } from "../../agent/feature/BranchResult.ts";
import type { RecorderStart } from "./RecorderStart.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";

export class ParallelStarts {
  /**
   * The version of the checkpoint at which the branches start, which names the node. `undefined` before the first
   * parallel node.
   */
  version: number | undefined;
  readonly #lanes = new Map<string, readonly number[]>();

  /**
   * Starts the node at a checkpoint. @param from the restored point of the line, whose branches may start at an earlier
   * checkpoint.
   */
  begin(version: number | undefined, { head, openFork }: Pick<RecorderStart<unknown>, "head" | "openFork">): void {
    this.version = (version === head?.version ? openFork : undefined) ?? version;
    this.#lanes.clear();
  }

  /** Adds a branch that starts or continues. @param lanes a live list of its lanes, to which later lanes are added. */
  addBranch(key: string, lanes: readonly number[]): void {
    this.#lanes.set(key, lanes);
  }

  /** Joins the finished branches. Later records may refer to messages that the branches added. */
  join(results: ReadonlyMap<string, BranchResult>, writer: ValueWriter): void {
    for (const [key, { added }] of results) writer.noteJoined(this.#lanes.get(key) ?? [], added);
  }
}
