import type { ProviderGeneration, ProviderPart } from "./ProviderModel.ts";

/** Yields the parts of a recorded response, each in one piece. */
export function* replayedParts(generation: ProviderGeneration): Generator<ProviderPart> {
  const { content, warnings = [], response, finishReason, usage, providerMetadata } = generation;
  yield { type: "stream-start", warnings };
  yield { type: "response-metadata", ...response };
  for (const [index, part] of content.entries()) yield* piecesOf(part, String(index));
  yield { type: "finish", finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) };
}

/** Yields one part of the content. @param shown the start of its text that was yielded before */
export function* piecesOf(part: ProviderPart, id: string, shown = ""): Generator<ProviderPart> {
  const { type, text, input, ...fields } = part;
  const metadata = fields["providerMetadata"] !== undefined && { providerMetadata: fields["providerMetadata"] };
  switch (type) {
    case "text":
    case "reasoning":
      if (shown === "") yield { type: `${type}-start`, id, ...metadata };
      if (text !== shown) yield { type: `${type}-delta`, id, delta: String(text).slice(shown.length) };
      yield { ...fields, type: `${type}-end`, id };
      return;
    case "tool-call": {
      const { toolCallId, ...call } = fields;
      yield { ...call, type: "tool-input-start", id: toolCallId };
      yield { type: "tool-input-delta", id: toolCallId, delta: input };
      yield { type: "tool-input-end", id: toolCallId };
      yield part;
      return;
    }
    default:
      yield part;
  }
}
