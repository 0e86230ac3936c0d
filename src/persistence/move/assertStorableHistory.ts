import { assertMessage } from "../../agent/model/assertMessage.ts";
import type { Message } from "../../checkpoint/messages/Message.ts";
import { encodeValue } from "../../checkpoint/values/valueCodec.ts";

/** Refuses a history that could not be stored, before anything changes. @throws InvalidInputError, NotSerializableError */
export function assertStorableHistory(messages: readonly Message[] | undefined): void {
  for (const message of messages ?? []) {
    assertMessage(message, "message of the new history");
    encodeValue(message, "a message");
  }
}
