/** Constants of the zip format (APPNOTE.TXT by PKWARE). */

/** Compression methods (4.4.5). */
export const STORED = 0;
export const DEFLATED = 8;

/** Signatures of a local file header (4.3.7) and of a data descriptor (4.3.9). */
export const FILE_HEADER = 0x04034b50;
export const DATA_DESCRIPTOR = 0x08074b50;

/** Bits of the general purpose flag (4.4.4). */
export const ENCRYPTED = 1;
export const SIZES_FOLLOW = 8;
