import { createHash } from "node:crypto";
import type { GitRepository } from "./GitRepository.ts";

const bytesAtOnce = 16 * 1024 * 1024;

/** Writes one uncompressed pack, because the objects are removed after the action. */
const temporary = ["fastimport.unpackLimit=1", "pack.compression=0", "core.fsync=none"];

export function blobId({ nullId }: GitRepository, content: Uint8Array): string {
  const hash = createHash(nullId.length === 40 ? "sha1" : "sha256");
  return hash.update(`blob ${content.length}\0`).update(content).digest("hex");
}

export class NewBlobs {
  readonly #repository: GitRepository;
  readonly #keep: boolean;
  #waiting: Uint8Array[] = [];
  #bytes = 0;

  /** @param keep whether to write to the repository. By default the objects exist only during the action. */
  constructor(repository: GitRepository, keep = false) {
    this.#repository = repository;
    this.#keep = keep;
  }

  /**
   * @returns the id of the object, which exists after `store` at the latest
   * @throws GitError
   */
  async add(content: Uint8Array): Promise<string> {
    this.#waiting.push(Buffer.from(`blob\ndata ${content.length}\n`), content, Buffer.from("\n"));
    this.#bytes += content.length;
    if (this.#bytes > bytesAtOnce) await this.store();
    return blobId(this.#repository, content);
  }

  /** @throws GitError */
  async store(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const input = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#bytes = 0;
    const options = this.#keep ? { keep: true } : { settings: temporary };
    await this.#repository.objects(["fast-import", "--quiet"], { input, ...options });
  }
}
