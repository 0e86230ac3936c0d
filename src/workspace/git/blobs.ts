import { GitError } from "../../errors/workspaceErrors.ts";
import type { GitRepository } from "./GitRepository.ts";
import { createHash } from "node:crypto";

const storedAtOnce = 16 * 1024 * 1024;

/** Settings to write one uncompressed pack, because the objects are removed after the action. */
const temporary = ["fastimport.unpackLimit=1", "pack.compression=0", "core.fsync=none"];

const bytesAtOnce = 8 * 1024 * 1024;
/** The maximum size of an object. A call of git can output an object of this size with its header. */
export const largestBlob = 64 * 1024 * 1024 - 1024;

/** Returns the sizes of objects with one call of git. Omits objects that a partial clone lacks. */
export async function sizesOf(repository: GitRepository, ids: Iterable<string>): Promise<ReadonlyMap<string, number>> {
  const input = linesOf(ids);
  if (input === "") return new Map();
  const { output } = await repository.objects(["cat-file", "--batch-check=%(objectname) %(objectsize)"], { input });
  const lines = output.toString().split("\n");
  const entries = lines.filter((line) => /^[0-9a-f]+ [0-9]+$/.test(line)).map((line) => line.split(" "));
  return new Map(entries.map(([id = "", size]) => [id, Number(size)]));
}

function linesOf(ids: Iterable<string>): string {
  return [...new Set(ids)].map((id) => `${id}\n`).join("");
}

/** Groups items so that one call of git can output the contents of a group. */
export function inGroups<Item>(items: readonly Item[], bytesOf: (item: Item) => number): readonly (readonly Item[])[] {
  const groups: Item[][] = [];
  let left = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (groups.length === 0 || bytes > left) {
      groups.push([]);
      left = bytesAtOnce;
    }
    groups.at(-1)?.push(item);
    left -= bytes;
  }
  return groups;
}

/** Returns the contents of objects with one call of git. @throws GitError if an object is missing */
export async function contentsOf(
  repository: GitRepository,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const contents = new Map<string, Uint8Array>();
  const input = linesOf(ids);
  if (input === "") return contents;
  const { output } = await repository.objects(["cat-file", "--batch"], { input });
  for (let at = 0; at < output.length;) {
    const end = output.indexOf("\n", at);
    const [id = "", type = "", size] = output.toString("latin1", at, end).split(" ");
    if (type !== "blob") throw new GitError("cat-file", `the object ${id} is ${type}`);
    at = end + 1 + Number(size);
    contents.set(id, output.subarray(end + 1, at));
    at++;
  }
  return contents;
}

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

  /** @returns the id of the object, which exists after `store` at the latest @throws GitError */
  async add(content: Uint8Array): Promise<string> {
    this.#waiting.push(Buffer.from(`blob\ndata ${content.length}\n`), content, Buffer.from("\n"));
    this.#bytes += content.length;
    if (this.#bytes > storedAtOnce) await this.store();
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
