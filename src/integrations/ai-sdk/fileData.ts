/** The content of a file in specification v2 and v3: bytes, base64 text or a URL. */
export type FileData = Uint8Array | string | URL;

/** The content of a file in specification v4. */
export type TaggedFileData = { type: "data"; data: Uint8Array | string } | { type: "url"; url: URL };

const base64DataUrl = /^data:[^,]*;base64,/i;

/** Separates URLs from base64 text, because messages hold both as text. */
export function fileDataOf(data: string | Uint8Array): FileData {
  if (typeof data !== "string") return data;
  const prefix = base64DataUrl.exec(data);
  if (prefix !== null) return data.slice(prefix[0].length);
  return URL.canParse(data) ? new URL(data) : data;
}

/** Returns the result of {@link fileDataOf} in the form of v4. */
export function taggedFileDataOf(data: string | Uint8Array): TaggedFileData {
  const content = fileDataOf(data);
  return content instanceof URL ? { type: "url", url: content } : { type: "data", data: content };
}

/** Converts a file that a model generated to the form of messages, from any specification version. */
export function messageDataOf(data: string | Uint8Array | TaggedFileData): string | Uint8Array {
  if (typeof data === "string" || data instanceof Uint8Array) return data;
  return data.type === "url" ? data.url.href : data.data;
}
