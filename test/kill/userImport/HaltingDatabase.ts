import { UserDatabase } from "../../../examples/user-import/database.ts";
import type { Halt } from "../worker/Halt.ts";

/** The database of the example, in which removals may stand still. */
export class HaltingDatabase extends UserDatabase {
  readonly #halt: Halt;

  constructor(file: string, halt: Halt) {
    super(file);
    this.#halt = halt;
  }

  override remove(toolCallId: string): void {
    this.#halt.block("before", { tool: "removal", call: toolCallId });
    super.remove(toolCallId);
    this.#halt.block("after", { tool: "removal", call: toolCallId });
  }
}
