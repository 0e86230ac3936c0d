import type { BranchResult } from "../../agent/feature/BranchResult.ts";
import type { RecorderStart } from "./RecorderStart.ts";
import type { ValueWriter } from "../../checkpoint/format/ValueWriter.ts";

/** The branches of the parallel node that a line visits. */
export class Forks {
  /** The version of the checkpoint that the branches begin at: it names the node. Absent: the line has visited none. */
  version: number | undefined;
  /** By the key of a branch, the lanes that it was on. */
  readonly #lanes = new Map<string, readonly number[]>();

  /** The node begins at a checkpoint. @param from where the line was restored: its branches may have begun at an earlier one */
  begin(version: number | undefined, { head, openFork }: Pick<RecorderStart<unknown>, "head" | "openFork">): void {
    this.version = (version === head?.version ? openFork : undefined) ?? version;
    this.#lanes.clear();
  }

  /** A branch begins or goes on. @param lanes those that it was on; later ones are added to the same list. */
  addBranch(key: string, lanes: readonly number[]): void {
    this.#lanes.set(key, lanes);
  }

  /** All branches have ended: from now on records may refer to what they added. */
  join(results: ReadonlyMap<string, BranchResult>, writer: ValueWriter): void {
    for (const [key, { added }] of results) writer.noteJoined(this.#lanes.get(key) ?? [], added);
  }
}
