/** The input of a call as the model wrote it; the text itself if it is no JSON. */
export function inputOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
