import java.security.MessageDigest;
import java.util.stream.IntStream;

/** Hashes blocks on as many threads as the JVM believes to have processors. */
class Hash {
    public static void main(String[] arguments) {
        long sum = IntStream.range(0, 6000).parallel().mapToLong(Hash::hash).sum();
        System.out.println(Runtime.getRuntime().availableProcessors() + " processors, " + sum);
    }

    static long hash(int seed) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] block = new byte[4096];
            block[0] = (byte) seed;
            long sum = 0;
            for (int i = 0; i < 80; i++) {
                byte[] found = digest.digest(block);
                System.arraycopy(found, 0, block, 8, found.length);
                sum += found[0];
            }
            return sum;
        } catch (java.security.NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
    }
}
