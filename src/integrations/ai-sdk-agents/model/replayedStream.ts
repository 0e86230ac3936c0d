import type { ProviderGeneration, ProviderPart } from "./ProviderModel.ts";

/** Streams a recorded response, each part in one piece. */
export function replayedStream(generation: ProviderGeneration): ReadableStream<ProviderPart> {
  const parts = [...partsOf(generation)];
  return new ReadableStream({
    pull(controller) {
      const part = parts.shift();
      if (part) controller.enqueue(part);
      else controller.close();
    },
  });
}

function* partsOf(generation: ProviderGeneration): Generator<ProviderPart> {
  const { content, warnings = [], response, finishReason, usage, providerMetadata } = generation;
  yield { type: "stream-start", warnings };
  yield { type: "response-metadata", ...response };
  for (const [index, part] of content.entries()) yield* piecesOf(part, String(index));
  yield { type: "finish", finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) };
}

function* piecesOf(part: ProviderPart, id: string): Generator<ProviderPart> {
  const { type, text, input, ...fields } = part;
  const metadata = fields["providerMetadata"] !== undefined && { providerMetadata: fields["providerMetadata"] };
  switch (type) {
    case "text":
    case "reasoning":
      yield { type: `${type}-start`, id, ...metadata };
      yield { type: `${type}-delta`, id, delta: text };
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
