export { S3BlobStore, type S3BlobStoreOptions, type S3Body, type S3Client } from "./storage/s3/S3BlobStore.ts";
