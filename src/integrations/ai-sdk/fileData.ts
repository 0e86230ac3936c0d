/** A file's content in specification v2 and v3: bytes, base64 text, or where to find it. */
export type FileData = Uint8Array | string | URL;

/** The same in specification v4. */
export type TaggedFileData = { type: "data"; data: Uint8Array | string } | { type: "url"; url: URL };

const base64DataUrl = /^data:[^,]*;base64,/i;

/** A message holds a URL as text; a model wants to be told it apart from base64. */
export function fileDataOf(data: string | Uint8Array): FileData {
  if (typeof data !== "string") return data;
  const prefix = base64DataUrl.exec(data);
  if (prefix !== null) return data.slice(prefix[0].length);
  return URL.canParse(data) ? new URL(data) : data;
}

/** {@link fileDataOf}, for v4. */
export function taggedFileDataOf(data: string | Uint8Array): TaggedFileData {
  const content = fileDataOf(data);
  return content instanceof URL ? { type: "url", url: content } : { type: "data", data: content };
}

/** What a message keeps of a file that a model made, in the form of either specification. */
export function messageDataOf(data: string | Uint8Array | TaggedFileData): string | Uint8Array {
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  return data.type === "url" ? data.url.href : data.data;
}
