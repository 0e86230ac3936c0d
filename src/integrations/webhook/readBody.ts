/**
 * Reads the text of a body. Reads no more of it if it has more than `maxBytes`. Returns `undefined` if the body ends with
 * an error, for example because the client is gone.
 *
 * @throws TypeError if another reader has the body.
 */
export async function readBody(
  { body }: Request,
  maxBytes: number,
): Promise<{ readonly text: string } | "too_large" | undefined> {
  const chunks = body?.values();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    for await (const chunk of chunks ?? []) {
      size += chunk.length;
      if (size > maxBytes) return "too_large";
      text += decoder.decode(chunk, { stream: true });
    }
  } catch {
    return undefined;
  }
  return { text: text + decoder.decode() };
}
