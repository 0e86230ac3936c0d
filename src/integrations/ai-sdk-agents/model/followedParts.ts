import { RunStoppedError } from "../../../errors/runErrors.ts";
import type { HostedLoop } from "../../hosted/HostedLoop.ts";
import type { HostedPiece, HostedPieces } from "../../hosted/HostedPieces.ts";
import type { ProviderGeneration, ProviderPart } from "./ProviderModel.ts";
import { piecesOf } from "./replayedParts.ts";

/**
 * Yields a response that another process receives: its texts while the model writes them, and the rest when it is
 * recorded.
 *
 * @throws RunStoppedError if the response was cut off, or the recorded one is another one
 */
export async function* followedParts(
  { agentId, signal }: HostedLoop,
  pieces: HostedPieces,
  recorded: Promise<ProviderGeneration>,
): AsyncGenerator<ProviderPart, void, undefined> {
  let isRecorded = false;
  const settled = new AbortController();
  const end = () => {
    isRecorded = true;
    settled.abort();
  };
  recorded.then(end, end);
  const texts: HostedPiece[] = [];
  yield { type: "stream-start", warnings: [] };
  while (!isRecorded) {
    const found = await pieces.next(AbortSignal.any([signal, settled.signal]));
    if (!found && texts.length > 0) throw new RunStoppedError(agentId, "interrupted");
    for (const piece of found ?? []) yield* shown(piece, texts);
  }
  yield* restOf(await recorded, texts, agentId);
}

function* restOf(
  { content, response, finishReason, usage, providerMetadata }: ProviderGeneration,
  texts: readonly HostedPiece[],
  agentId: string,
): Generator<ProviderPart> {
  yield { type: "response-metadata", ...response };
  for (const [index, part] of content.entries()) {
    const { kind, text = "" } = texts[index] ?? {};
    const isSame = kind === undefined || (part.type === kind && String(part["text"]).startsWith(text));
    if (!isSame) throw new RunStoppedError(agentId, "interrupted");
    yield* piecesOf(part, String(index), text);
  }
  yield { type: "finish", finishReason, usage, ...(providerMetadata !== undefined && { providerMetadata }) };
}

/** Shows a piece if all earlier parts of the content are shown, so that the parts keep their order. */
function* shown({ kind, index, text }: HostedPiece, texts: HostedPiece[]): Generator<ProviderPart> {
  const known = texts[index];
  if (text === "" || (known ? index !== texts.length - 1 : index !== texts.length)) return;
  const id = String(index);
  if (!known) yield { type: `${kind}-start`, id };
  texts[index] = { kind, index, text: (known?.text ?? "") + text };
  yield { type: `${kind}-delta`, id, delta: text };
}
