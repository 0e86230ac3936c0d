import type { ProviderMessage, ProviderPart } from "./ProviderModel.ts";

/** A prompt in which calls have the ids that the provider gave them. @param ids by the library's ids */
export function promptWithProviderIds(
  prompt: readonly ProviderMessage[],
  ids: ReadonlyMap<string, string>,
): readonly ProviderMessage[] {
  const partOf = (part: ProviderPart): ProviderPart => {
    const known = typeof part["toolCallId"] === "string" ? ids.get(part["toolCallId"]) : undefined;
    return known === undefined ? part : { ...part, toolCallId: known };
  };
  return prompt.map((message) =>
    typeof message.content === "string" ? message : { ...message, content: message.content.map(partOf) },
  );
}
