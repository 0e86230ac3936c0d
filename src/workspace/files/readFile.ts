import type { FileState } from "../../checkpoint/data/FileChange.ts";
import { FileAccessError } from "../../errors/workspaceErrors.ts";
import { textOfUtf8 } from "../../internal/bytes.ts";
import { nodeSha256 } from "../../internal/sha256/nodeSha256.ts";
import { type FilePlace, systemReason } from "./ConfinedFolder.ts";
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  type StatsBase,
} from "node:fs";

type StateOf<Kind extends FileState["kind"]> = FileState & { readonly kind: Kind };

export type FoundFile = (
  | { readonly kind: "missing" }
  /** `leftOut` is the part of the file that is not stored, as the end of a sentence that starts with the path. */
  | { readonly kind: "file"; readonly state: StateOf<"file">; readonly content: Uint8Array; readonly leftOut?: string }
  | { readonly kind: "link"; readonly state: StateOf<"link"> }
  /** An entry whose content is not stored. `reason` is the end of a sentence that starts with the path. */
  | { readonly kind: "other"; readonly reason: string; readonly folder?: true }
) & {
  /** Why the entry cannot be read or replaced, after the path in a sentence. Omitted if accessible or unchecked. */
  readonly unreachable?: string;
  /** The directory of the entry, if a missing write permission of this directory is the only obstacle. */
  readonly shut?: string;
};

const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a file of at most `maximumBytes`, without following links or waiting for a pipe. `known` are fresh stats of the
 * entry.
 *
 * @throws FileAccessError
 */
export function readFile(
  place: Pick<FilePlace, "at" | "path">,
  maximumBytes: number,
  known?: StatsBase<number> | StatsBase<bigint>,
): FoundFile {
  try {
    const found = known ?? lstatSync(place.at);
    if (found.isSymbolicLink()) return readLink(place.at);
    return found.isFile() ? readContent(place.at, maximumBytes) : otherThing(found);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return { kind: "missing" };
    throw new FileAccessError(place.path, systemReason(error), { cause: error });
  }
}

function readLink(at: string): FoundFile {
  const bytes = readlinkSync(at, { encoding: "buffer" });
  const target = bytes.toString();
  if (!Buffer.from(target).equals(bytes)) return { kind: "other", reason: "is a link whose target is not UTF-8" };
  return { kind: "link", state: { kind: "link", target } };
}

function readContent(at: string, maximumBytes: number): FoundFile {
  const descriptor = openSync(at, flags);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile()) return otherThing(found);
    if (found.size > maximumBytes)
      return {
        kind: "other",
        reason: `has ${found.size} bytes, and the workspace keeps files of at most ${maximumBytes}`,
      };
    const content = contentOf(descriptor, found.size);
    const file = { kind: "file", state: fileState(content, found.mode), content } as const;
    if ((found.mode & 0o7000) === 0) return file;
    return { ...file, leftOut: "has a setuid, setgid or sticky bit, which is not kept" };
  } finally {
    closeSync(descriptor);
  }
}

/** Reads a file of known size without asking for the size again. Some systems report the size 0 for a generated file. */
function contentOf(descriptor: number, size: number): Uint8Array {
  if (size === 0) return readFileSync(descriptor);
  const content = Buffer.allocUnsafe(size);
  let bytes = 0;
  for (let read = -1; read !== 0 && bytes < size; bytes += read)
    read = readSync(descriptor, content, bytes, size - bytes, null);
  return bytes === size ? content : content.subarray(0, bytes);
}

function fileState(content: Uint8Array, mode: number): StateOf<"file"> {
  return { kind: "file", hash: nodeSha256.hex(content), bytes: content.length, mode: mode & 0o777 };
}

function otherThing(found: { isDirectory(): boolean }): FoundFile & { readonly kind: "other" } {
  if (found.isDirectory()) return { kind: "other", reason: "is a folder", folder: true };
  return { kind: "other", reason: "is neither a file nor a link" };
}

/** Returns the state, or `undefined` for a missing file and for entries other than files and links. */
export function stateOf(found: FoundFile): FileState | undefined {
  return "state" in found ? found.state : undefined;
}

/** Removes the content to free memory, if only the state of the file is needed. */
export function withoutContent(found: FoundFile): FoundFile {
  return found.kind === "file" ? { ...found, content: new Uint8Array() } : found;
}

export function isDirectory(found: FoundFile): boolean {
  return found.kind === "other" && found.folder === true && found.unreachable === undefined;
}

/** @throws FileAccessError unless the entry is a file or a link */
export function presentIn(found: FoundFile, path: string): FoundFile & { readonly kind: "file" | "link" } {
  if (found.kind === "missing") throw new FileAccessError(path, "does not exist");
  if (found.kind === "other") throw new FileAccessError(path, found.reason);
  return found;
}

/** @throws FileAccessError unless the entry is a file */
export function fileIn(found: FoundFile, path: string): FoundFile & { readonly kind: "file" } {
  const present = presentIn(found, path);
  if (present.kind === "file") return present;
  throw new FileAccessError(path, `is a link to ${JSON.stringify(present.state.target)}, and links are not followed`);
}

/** Decodes a content with its byte-order mark. `undefined` if it is not UTF-8 or has a NUL character. */
export function textIn(content: Uint8Array): string | undefined {
  return content.includes(0) ? undefined : textOfUtf8(content);
}
