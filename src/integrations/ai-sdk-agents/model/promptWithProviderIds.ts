import { providedId, withoutProvidedId } from "./providerCallId.ts";
import type { ProviderMessage, ProviderPart } from "./ProviderModel.ts";

/** Returns a prompt with the provider's ids of calls, from this run and earlier runs. */
export function promptWithProviderIds(prompt: readonly ProviderMessage[]): readonly ProviderMessage[] {
  const ids = new Map(
    prompt.flatMap(({ content }) => (typeof content === "string" ? [] : content.flatMap((part) => idsOf(part)))),
  );
  const partOf = (part: ProviderPart): ProviderPart => {
    const known = ids.get(part["toolCallId"]);
    return known === undefined ? part : { ...withoutProvidedId(part), toolCallId: known };
  };
  return prompt.map((message) =>
    typeof message.content === "string" ? message : { ...message, content: message.content.map(partOf) },
  );
}

function idsOf(part: ProviderPart): (readonly [own: unknown, provided: string])[] {
  const provided = providedId(part);
  return provided === undefined ? [] : [[part["toolCallId"], provided]];
}
