import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isLater } from "../../seals/sealedHarness.ts";
import type { KeptSeal, SealKeeper } from "agent-persistence/seals";

/** The newest seals in files. */
export class FileKeeper implements SealKeeper {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async read(agentId: string): Promise<KeptSeal | undefined> {
    if (!this.#names().includes(`${agentId}.seal`)) return undefined;
    return JSON.parse(readFileSync(join(this.#directory, `${agentId}.seal`), "utf8")) as KeptSeal;
  }

  async write(agentId: string, seal: KeptSeal): Promise<void> {
    if (isLater(await this.read(agentId), seal)) return;
    writeFileSync(join(this.#directory, agentId), JSON.stringify(seal));
    renameSync(join(this.#directory, agentId), join(this.#directory, `${agentId}.seal`));
  }

  agentIds(): Iterable<string> {
    return this.#names().flatMap((name) => (name.endsWith(".seal") ? [name.slice(0, -5)] : []));
  }

  #names(): readonly string[] {
    return readdirSync(this.#directory);
  }
}
