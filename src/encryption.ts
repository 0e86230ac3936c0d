export { destroyKey } from "./encryption/encrypted.ts";
export { encrypted, type EncryptionOptions } from "./encryption/encrypted.ts";
export { encryptedStreams } from "./encryption/encryptedStreams.ts";
export type { EncryptionKey, KeySource, WrappingKey } from "./storage/KeySource.ts";
export type { PlainField } from "./encryption/log/sealedSummary.ts";
export { reencrypt, type ReencryptedKey } from "./encryption/encrypted.ts";
export type { RedactedOptions, Redactor } from "./redaction/redaction.ts";
export { redaction, type StorageRedaction, type RedactionOptions, type Vault } from "./redaction/redaction.ts";
export { secret } from "./redaction/secret.ts";
