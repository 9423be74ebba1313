/** GitHub's proof that a request is from GitHub: the HMAC of the body under the webhook's secret. */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** The value of the header `x-hub-signature-256`. */
export function sign(body: Buffer, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
}

export function isSigned(body: Buffer, given: string, secret: string): boolean {
  const [expected, actual] = [Buffer.from(sign(body, secret)), Buffer.from(given)];
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
