import { FileAccessError } from "../../errors/workspace/FileAccessError.ts";
import type { FoundFile } from "./readFile.ts";

/** The found file or link. @throws FileAccessError */
export function presentIn(found: FoundFile, path: string): FoundFile & { readonly kind: "file" | "link" } {
  if (found.kind === "missing") throw new FileAccessError(path, "does not exist");
  if (found.kind === "other") throw new FileAccessError(path, found.reason);
  return found;
}

/** The found file. @throws FileAccessError */
export function fileIn(found: FoundFile, path: string): FoundFile & { readonly kind: "file" } {
  const present = presentIn(found, path);
  if (present.kind === "file") return present;
  throw new FileAccessError(path, `is a link to ${JSON.stringify(present.state.target)}, and links are not followed`);
}

/** A content as text, with its byte-order mark; `undefined` when it is not UTF-8 or contains a NUL character. */
export function textIn(content: Uint8Array): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}
