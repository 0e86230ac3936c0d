/** The aggregated client of the AWS SDK, `new S3()` of `@aws-sdk/client-s3`: the methods that the store calls. */
export interface S3Client {
  putObject(input: object): Promise<object>;
  getObject(input: object): Promise<{ readonly Body?: S3Body | undefined }>;
  deleteObject(input: object): Promise<object>;
}

/** The content of an object. */
export interface S3Body {
  transformToByteArray(): Promise<Uint8Array>;
}
