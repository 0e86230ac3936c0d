import assert from "node:assert/strict";
import type { AgentCheckpointData } from "agent-persistence";

/** The checkpoints that a storage has acknowledged. After a request that was cut short there may be more. */
export class Acknowledged {
  #contents: ReadonlyMap<string, string> = new Map();
  #maybeMore = false;

  /** After a request. @param answered whether it was; then everything that is there was acknowledged. */
  take(found: readonly AgentCheckpointData[], answered: boolean): void {
    this.#expectOld(found);
    this.#maybeMore = !answered;
    if (answered) this.#contents = contentsOf(found);
  }

  /** @throws AssertionError when one is missing or another one, or when there are more than there may be. */
  expectIn(found: readonly AgentCheckpointData[]): void {
    this.#expectOld(found);
    if (!this.#maybeMore) assert.equal(found.length, this.#contents.size, "there is more than was saved");
  }

  #expectOld(found: readonly AgentCheckpointData[]): void {
    const contents = contentsOf(found);
    for (const [id, content] of this.#contents) assert.equal(contents.get(id), content, `checkpoint ${id}`);
    for (const [at, { version }] of found.entries())
      assert.ok(version > (found[at - 1]?.version ?? 0), `version ${version} follows a higher one`);
  }
}

function contentsOf(checkpoints: readonly AgentCheckpointData[]): ReadonlyMap<string, string> {
  return new Map(checkpoints.map((checkpoint) => [checkpoint.checkpointId, JSON.stringify(checkpoint)]));
}
