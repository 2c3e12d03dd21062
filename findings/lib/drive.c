/* A drive that exists as files: answers the ioctls by which smartctl and nvme-cli ask a drive for its pages. A page is a file below
 * the folder PAGES: idNN (identify, by CNS) and logNN (log page) of an NVMe drive; ident and smartNN (by feature) of an ATA drive.
 * Everything else is passed on to the kernel. The tools are pointed at /dev/null, which opens as a character device. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NVME_ID = 0x4e40, NVME_ADMIN = 0xc0484e41, NVME_ADMIN_64 = 0xc0504e47, ATA_COMMAND = 0x031f, ATA_TASK = 0x031e };
enum { INVALID_FIELD = 0x002, INVALID_LOG_PAGE = 0x109 };

struct admin {
    uint8_t opcode, flags;
    uint16_t reserved;
    uint32_t nsid, words_2_3[2];
    uint64_t metadata, address;
    uint32_t metadata_length, length, words_10_15[6], timeout;
    uint32_t result;
};

static int page(const char *name, long offset, void *buffer, size_t length)
{
    char path[4096];
    const char *folder = getenv("PAGES");
    if (!folder)
        return -1;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    memset(buffer, 0, length);
    fseek(file, offset, SEEK_SET);
    size_t got = fread(buffer, 1, length, file);
    (void)got;
    fclose(file);
    return 0;
}

static int nvme(struct admin *command)
{
    char name[16];
    int is_log = command->opcode == 0x02;
    if (is_log)
        snprintf(name, sizeof name, "log%02x", command->words_10_15[0] & 0xff);
    else if (command->opcode == 0x06)
        snprintf(name, sizeof name, "id%02x", command->words_10_15[0] & 0xff);
    else
        return INVALID_FIELD;
    long offset = is_log ? command->words_10_15[2] : 0;
    void *buffer = (void *)(uintptr_t)command->address;
    if (page(name, offset, buffer, command->length))
        return is_log ? INVALID_LOG_PAGE : INVALID_FIELD;
    return 0;
}

/* The four bytes before the data: command, sector number, feature, sectors. */
static int ata(unsigned char *bytes)
{
    char name[16];
    int is_identify = bytes[0] == 0xec, is_smart = bytes[0] == 0xb0;
    if (is_smart && bytes[2] == 0xd8)
        return 0;
    snprintf(name, sizeof name, is_identify ? "ident" : "smart%02x", bytes[2]);
    if ((is_identify || is_smart) && !page(name, 0, bytes + 4, 512u * bytes[3]))
        return 0;
    errno = EIO;
    return -1;
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    switch (request & 0xffffffff) {
    case NVME_ID:
        return 1;
    case NVME_ADMIN:
    case NVME_ADMIN_64:
        return nvme(argument);
    case ATA_COMMAND:
        return ata(argument);
    case ATA_TASK: { /* SMART RETURN STATUS: these two cylinders say that no threshold is exceeded */
        unsigned char *task = argument;
        task[0] = 0x50, task[4] = 0x4f, task[5] = 0xc2;
        return 0;
    }
    }
    return syscall(SYS_ioctl, fd, request, argument);
}
