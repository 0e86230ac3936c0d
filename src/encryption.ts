export { encrypted, type EncryptionOptions } from "./encryption/encrypted.ts";
export type { EncryptionKey, KeySource, WrappingKey } from "./encryption/keys/KeySource.ts";
export type { PlainField } from "./encryption/log/sealedSummary.ts";
