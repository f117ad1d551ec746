"""Six words that stand for a public key, so that a person can compare two screens.

The words come out of a slow hash: whoever wants a key of their own with the same six words has to try about 2^60 keys, at a
tenth of a second each.
"""

from __future__ import annotations

COUNT = 6
_COST = 1 << 15
_BLOCK = 8
_MEMORY = 132 * _COST * _BLOCK


def six_words(public: str) -> tuple[str, ...]:
    """Six words for a public key (hex), 60 bits, about 0.1 s after they were asked for. Raises ValueError when it is none."""
    import hashlib

    key = bytes.fromhex(public)
    if len(key) != 32:
        raise ValueError("a public key has 32 bytes")
    digest = hashlib.scrypt(
        key, salt=b"vir-words/1", n=_COST, r=_BLOCK, p=1, maxmem=_MEMORY + (1 << 20), dklen=COUNT * 2
    )
    words = word_list()
    return tuple(words[int.from_bytes(digest[place : place + 2], "big") % 1024] for place in range(0, COUNT * 2, 2))


def word_list() -> tuple[str, ...]:
    """The 1024 words, sorted. They and their order are fixed for ever: both screens must show the same."""
    return tuple(_LIST.split())


def same_words(typed: str, words: tuple[str, ...]) -> bool:
    """Whether a person typed these words, whatever the case and what stands between them."""
    import re

    return tuple(re.findall(r"[a-z]+", typed.casefold())) == words


_LIST = """
acorn acrobat actor agent airport album alley almond alpine amber anchor angle animal antler apple apron arcade arch
arena armchair armor arrow artist atlas attic auburn aunt autumn avenue axle bacon badge badger bagel baker balcony
ballet balloon bamboo banana bandage banjo bank banner barber bark barn barrel basil basin basket beach bead beaver
bed bee beetle bell belt bench berry bicycle bird biscuit bison blanket blaze blossom blouse blue board boat bobbin
bone bonfire book boot border bottle bottom boulder bowl box bracelet branch brass bread breeze brick bride bridge
bronze brook broom brother brown brush bubble bucket buckle budget buffalo bugle builder bulb bundle bunny butter
button cabbage cabin cable cactus cake camel camera camp canal candle candy canoe canvas canyon cape captain caramel
cargo carpet carrot carton cashew castle cat cattle cave cedar ceiling celery cellar cement center cereal chain chair
chalk chapel charcoal chariot cheese cherry chess chestnut chicken chief child chimney chin chisel choir cider cinema
cinnamon circle circus citrus city clam clarinet clay clerk cliff clinic cloak clock cloud clover clown club coach
coal coast coat cobalt cobweb cocoa coconut coffee coin collar college colony comb comet compass copper coral cork
corn corner cottage cotton couch country cousin cow coyote crab cradle crane crater crayon cream creek crew cricket
crown crystal cube cuckoo cucumber cup cupboard curtain cushion cymbal dairy daisy dancer dawn deer delta denim
dentist desert desk dessert diamond dinner dinosaur diver doctor dog doll dolphin domino donkey donut door dough dove
dragon drawer driver drum duck dune dust eagle earth easel east echo eel elbow elder elephant elevator elk elm ember
emerald engine envelope equator eraser evening fabric factory falcon family farmer father faucet feather fence fern
ferry festival fiddle field film finch finger fire fish flag flame flamingo flannel flask fleece flint floor flour
flower flute foal folder forest fork fort fossil fountain fox frame freckle friday friend frog frost fruit funnel
galaxy gallery game garage garden garlic garnet gate gazelle gem giant ginger giraffe glacier glass glider globe glove
glue goat gold goose gorilla gosling grain grandma grape graph grass gravel gravy green grocer guest guitar gull
gutter hail hair hammer hammock hand harbor harp harvest hat hawk hazel heart heater hedge helmet hen herb hermit
heron hiker hill hinge hippo hive hobby hockey holiday hollow honey hood hook horizon horn horse hotel house hunter
husky ice iceberg idol igloo iguana inch indigo ink insect iron island ivory ivy jacket jaguar jam january jar jasmine
jeans jelly jewel jigsaw jockey judge juggler juice july jungle junior juniper jury kangaroo kayak kennel kettle key
keyboard king kitchen kite kitten kiwi knee knife knight knob knot koala label ladder lady lagoon lake lamb lamp
lantern lark lasso laundry lava lavender lawn lawyer leaf leather ledge leek lemon lens lentil leopard letter lettuce
level library lid light lily lime linen lion lizard llama lobby lobster locker log lollipop loom lotus luggage lumber
lunch lynx lyric machine magnet magpie mailbox mammal mango manor mantle map maple marble march margin marina market
marmot mask mason mat mattress meadow medal melody melon member menu merchant mermaid metal meteor meter midnight milk
mill miner mint mirror mist mitten moat model mole monday money monk monkey moon moose morning mosaic moss moth mother
motor mountain mouse mouth movie mud muffin mug mule museum mushroom music mustard nail napkin navy necklace needle
neighbor nephew nest net nettle nickel night noodle noon north nose note notebook novel nugget number nut nutmeg oak
oar oasis oat ocean october octopus office oil olive omelet onion onyx opera orange orbit orchard orchid organ osprey
ostrich otter oval oven owl oyster paddle pail painter palace palm pan pancake panda panel panther papaya paper parade
parcel parent park parrot parsley passport pasta pastry patch path patio pawn peach peacock peak peanut pear pearl
pebble pedal pelican pen pencil penguin penny pepper perfume person petal phone piano picnic picture pie pier pig
pigeon pillow pilot pine pink pioneer pipe pirate pistachio pitcher pizza planet plank plant plate platypus plaza plum
plumber pocket poem poet pole polka pond pony pool poplar poppy porch porridge port poster potato pottery powder
prairie prince printer prism prize puddle puffin pulley puma pump pumpkin pupil puppet puppy purple purse puzzle
pyramid quail quarry quartz queen quill quilt quince rabbit raccoon racket radar radio radish raft rail rain raisin
rake ranch raspberry raven ray razor recipe record red reed reef ribbon rice rider ring river road robin robot rocket
rodeo roof room rooster root rope rose rowboat ruby rudder rug ruler runner saddle saffron sail sailor salad salmon
salt sand sandal sandwich sapphire satchel saturday sauce saucer sausage saxophone scale scarf scholar school scooter
scout screen screw sculptor sea seal season seat second secretary seed shadow shark sheep shelf shell shelter sheriff
shield ship shirt shoe shop shore shoulder shovel shower shrimp shuttle sister skate sketch ski skirt sky sled sleeve
slipper slope smoke snail snake snow soap soccer sock sofa soil soldier soup south soy spade sparrow spear spice
spider spinach spiral sponge spoon spring spruce square squash squid squirrel stable stadium stage stair stamp star
statue steam steel stem step stick stone stool stork storm stove straw stream street string student studio sugar suit
summer sun sunday sunset surf swallow swamp swan sweater swing sword syrup table tablet tailor tambourine tangerine
tank tapestry target taxi tea teacher team teapot temple tennis tent terrace theater thicket thimble thistle thread
throat throne thumb thunder thursday ticket tiger tile timber tin toast toboggan toe tomato tongue tooth topaz torch
tornado tortoise toucan towel tower town toy tractor trail train trapeze tray treasure tree triangle tripod trombone
trophy trout trumpet trunk tuba tuesday tulip tuna tundra tunnel turban turkey turnip turquoise turtle twig umbrella
uncle uniform valley van vanilla vase vault vehicle velvet verse vest village vine vinegar violet violin visitor voice
volcano vulture waffle wagon waiter wall wallet walnut walrus waltz wardrobe washer wasp watch water wave wax
wednesday week whale wheat wheel whistle willow wind window winter wolf woman wood wool world wren wrist writer yacht
yard year yellow yoga yogurt zebra zero zipper zoo
"""
